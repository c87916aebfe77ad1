export function Offer() {
    return null;
}
