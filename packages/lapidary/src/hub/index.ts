// Getting a model: one mechanism for pages and for the command line. `import { … } from 'lapidary/hub'`.
//
//   catalogue, findEntry(name), recommend(catalogue, probe)   what is offered; data in ../catalogue/models.ts
//   predict(entry.bytes, await Lapidary.probe())              does it fit, how fast ("≈"), in which words
//   weightOf(fileName, bytes)                                 the same for a file of a search
//   resolveModel('e2b' | 'hf:OWNER/REPO[/FILE][@rev]' | URL)  files, sizes, digests, licence, gated; nothing downloaded yet
//   withProjector(resolved)                                   and what it needs to see and hear, a file of its own
//   searchHub('gemma 4 e2b')                                  repositories with models, sizes, licence, downloads
//   startDownload(resolved)                                   in a page by a worker: state to show, pause(), resume()
//   KeptModels.ofThisOrigin()                                 what is kept: list(), find(), open(), verify(), remove()
//   Lapidary.load({ kept: 'gemma-4-e2b' })                    answer with it, also without a network
//
// Everything can be asked of other servers by `endpoints` (tests: ../testing/hub-server.ts, ../testing/registry-server.ts).
// Data may be posted between page and workers as it is. Problems have a `kind`; their sentences are English.
export { canRead, catalogue, findEntry } from '../catalogue/catalogue.js';
export type { Ability, CatalogueEntry, CatalogueSource, Licence, Tier, Weight } from '../catalogue/catalogue.js';
export { describeSpeed, paceOf, predict, recommend, weightOf } from '../catalogue/predict.js';
export type { Device, Pace, Prediction } from '../catalogue/predict.js';
export { quantisationOf } from '../catalogue/quantisation.js';
export { Download, startDownload } from './download.js';
export type { DownloadOptions, DownloadState } from './download.js';
export { placesOf } from './endpoints.js';
export type { Endpoints } from './endpoints.js';
export { KeptModels } from './kept.js';
export type { Check, KeptFile, KeptModel, PullOptions, PullProgress } from './kept.js';
export { problemOf } from './problem.js';
export type { Problem, ProblemKind } from './problem.js';
export { projectorOf, withProjector } from './projector.js';
export { parseReference } from './reference.js';
export type { HubReference, Reference } from './reference.js';
export { listRepository } from './repository.js';
export type { HubFile, HubModel, HubRepository } from './repository.js';
export { nameOfFile, resolveModel } from './resolve.js';
export type { ModelFile, ResolveOptions, ResolvedModel } from './resolve.js';
export { searchHub } from './search.js';
export type { SearchOptions } from './search.js';
