// Everything that is computed on the software GPU by the library itself, in one process: most of the time goes into
// compiling kernels, and who shares an engine shares them. Each of the files also runs alone (`node dist/on-gpu/kv.js`).
import './on-gpu/models.js';
import './on-gpu/canvas.js';
import './on-gpu/kv.js';
import './on-gpu/media.js';
import './on-gpu/ledger.js';
import './on-gpu/rows.js';
import './on-gpu/scratch.js';
import './on-gpu/embeddings.js';
import './on-gpu/gradients.js';
