// From CommonJS, and it ends without dispose().
import('lapidary').then(async ({ Lapidary }) => {
    const engine = await Lapidary.load('builtin', { contextLength: 256 });
    console.log(await engine.complete('Once upon a time', { max_tokens: 4, seed: 1 }));
});
