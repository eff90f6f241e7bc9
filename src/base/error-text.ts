/** What was thrown, as a text. Other people's code may throw anything, also what cannot be made one. */
export function errorText(error: unknown): string {
  try {
    return String(error);
  } catch {
    return `a thrown ${typeof error}`;
  }
}
