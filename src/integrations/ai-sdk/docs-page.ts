/** The page that hints name. */
export const docsPage = 'docs/api/ai-sdk.md';
