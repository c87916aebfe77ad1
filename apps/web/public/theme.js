// Runs before anything is painted, so that a chosen theme does not flash in the other one first.
try {
    const theme = JSON.parse(localStorage.getItem('lapidary-settings') ?? '{}').theme;
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
    // Storage may be forbidden; then the system's theme it is.
}
