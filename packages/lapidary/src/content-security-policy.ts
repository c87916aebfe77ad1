// What the app's page may do. One list for everybody who serves it: `lapidary serve` sends it as a header, and the built
// page carries it within itself for hosts that send nothing.

/**
 * The app runs its own scripts and its own WebAssembly, nothing else. It may connect anywhere, because people may give
 * it the address of a model or of another server.
 */
const directives = [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "worker-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src blob:",
    "font-src 'self'",
    "manifest-src 'self'",
    "connect-src 'self' http: https:",
    "base-uri 'none'",
    "form-action 'none'",
];

/** For `<meta http-equiv="Content-Security-Policy">`. */
export const contentSecurityPolicy = directives.join('; ');

/** For the header. Who may frame the page cannot be said within the page. */
export const contentSecurityPolicyHeader = [...directives, "frame-ancestors 'none'"].join('; ');
