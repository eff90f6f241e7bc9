// Generated from package.json by scripts/generate-code.ts.

/** The version of this package, such as `1.2.3`. */
export const packageVersion = '0.1.0';
