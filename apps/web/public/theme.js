// Runs before anything is painted, so that a chosen theme does not flash in the other one first, and the words of the empty
// chat not where something else is about to be, or where they are not true.
const { dataset } = document.documentElement;
if (!['', '#', '#/'].includes(location.hash)) dataset.first = 'none';
try {
    const { theme, useEndpoint } = JSON.parse(localStorage.getItem('lapidary-settings') ?? '{}');
    if (theme === 'light' || theme === 'dark') dataset.theme = theme;
    if (useEndpoint) dataset.first = 'none';
} catch {
    // Storage may be forbidden; then the system's theme it is.
}
