// `lapidary/rpc`: calls between tabs, workers and threads, for whoever wants to share an engine among them.
export { Moved, type Contract, type Handlers, type Handling, type Merges } from './contract.js';
export { channelPort, loopback, processPort, threadPort, workerPort, type MessageEnd, type Port } from './port.js';
export { Rpc, type CallOptions } from './rpc.js';
