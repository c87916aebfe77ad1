// `webpack --mode production` without the command line.
import webpack from 'webpack';

const compiler = webpack({
    mode: 'production',
    context: process.cwd(),
    entry: './main.js',
    performance: { hints: false }, // a model is large
});
compiler.run((error, stats) => {
    if (error) throw error;
    console.log(stats.toString({ preset: 'errors-warnings' }));
    process.exitCode = stats.hasErrors() || stats.hasWarnings() ? 1 : 0;
});
