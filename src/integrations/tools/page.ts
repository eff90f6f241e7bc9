/** The page of the documentation that hints name. */
export const page = 'docs/adapters.md#plain-sdks';
