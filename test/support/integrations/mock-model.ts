import * as mocks from 'ai/test';

/** The mock of the newest model specification that the installed SDK supports: V3 in version 6 of `ai`, V4 in version 7. */
export type MockModel = mocks.MockLanguageModelV3;
const { MockLanguageModelV3, MockLanguageModelV4 } = mocks as object as {
  readonly MockLanguageModelV3: typeof mocks.MockLanguageModelV3;
  readonly MockLanguageModelV4?: typeof mocks.MockLanguageModelV3;
};
export const MockModel = MockLanguageModelV4 ?? MockLanguageModelV3;
