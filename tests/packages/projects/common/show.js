// Puts what came of it where the test finds it.
export async function show(name, work) {
    const result = await work().catch((error) => ({ error: String(error.message), code: error.code }));
    window.results = { ...window.results, [name]: result };
}
