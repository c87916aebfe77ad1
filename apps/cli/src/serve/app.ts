// Everything that answers, put together: who may ask, what there is, and how errors are told.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import { FileSource, builtinFile } from 'lapidary/node';
import type { Stream } from '../terminal.js';
import { accessLog } from './access-log.js';
import { Bodies } from './body.js';
import { HttpError, asHttpError, errorResponse } from './errors.js';
import type { Env, Routes } from './http.js';
import { addHealthRoutes } from './health.js';
import { addTranscriptionRoute } from './transcriptions.js';
import { addMessageRoutes } from './messages.js';
import { addOllamaRoutes } from './ollama.js';
import { addOllamaModelRoutes } from './ollama-models.js';
import { addOpenAiRoutes } from './openai.js';
import { canonicalPath } from './paths.js';
import { addResponseRoutes } from './responses.js';
import { security, securityHeaders, type SecurityOptions } from './security.js';
import { sendSource, versionTag } from './send.js';
import type { Service } from './service.js';
import { StaticFiles, placeholderPage } from './static.js';
import { addTokenRoutes } from './tokens.js';
import { addStoreRoutes } from './store.js';

export interface AppOptions {
    security: SecurityOptions;
    /** The folder with the built web app. */
    webRoot: string;
    version: string;
    /** Where the line about each request goes; nowhere when left out. */
    accessLog?: Stream | undefined;
}

export function createApp(service: Service, options: AppOptions): Routes {
    const app = new Hono<Env>({ getPath: (request) => canonicalPath(getPath(request)) });
    const bodies = new Bodies();
    app.onError((error, c) => errorResponse(c.req.path, asHttpError(error)));
    if (options.accessLog) app.use(accessLog(options.accessLog));
    app.use(securityHeaders());
    app.use(security(options.security));

    addHealthRoutes(app, service);
    addTranscriptionRoute(app, service, bodies);
    addMessageRoutes(app, service, bodies);
    addTokenRoutes(app, service, bodies);
    addResponseRoutes(app, service, bodies);
    addOpenAiRoutes(app, service, bodies);
    addOllamaModelRoutes(app, service, bodies, options.version);
    addOllamaRoutes(app, service, bodies);
    addStoreRoutes(app);
    addFiles(app, options.webRoot);
    return app;
}

function addFiles(app: Routes, webRoot: string): void {
    const files = new StaticFiles(webRoot);
    app.get(`/models/${path.basename(builtinFile)}`, async (c) => {
        const { size, mtimeMs } = await fs.stat(builtinFile);
        return await sendSource(c, await FileSource.open(builtinFile), {
            contentType: 'application/octet-stream',
            cacheControl: 'no-cache',
            etag: versionTag(size, mtimeMs),
        });
    });
    app.get('*', async (c) => {
        const found = await files.respond(c);
        if (found) return found;
        if (c.req.path === '/') return placeholderPage();
        throw new HttpError(404, 'there is no such page');
    });
    app.post('*', (c) => {
        const where = "programs find OpenAI's interface under /v1 and Ollama's under /api";
        throw new HttpError(404, `there is no ${c.req.method} ${c.req.path.slice(0, 200)}: ${where}`);
    });
    app.all('*', () => {
        throw new HttpError(405, 'this can only be read');
    });
}
