// On the server the library reads its files from the disk: it stays out of the bundle.
export default { serverExternalPackages: ['lapidary'] };
