import { expectTypeOf, test } from 'vitest';
import {
  BudgetError,
  type DecisionCode,
  isKernelError,
  type JsonObject,
  type JsonValue,
  KernelError,
  type KernelErrorCode,
  type KernelErrorFacts,
  type Outcome,
  type Pid,
} from '../../src/index.js';

declare const error: unknown;

test('the code of an error is a union, and a code that is not listed is refused', () => {
  expectTypeOf<KernelError['code']>().toEqualTypeOf<KernelErrorCode>();
  expectTypeOf<'PROCESS_FAILED' | 'INVALID_OUTPUT' | 'MISSING_PACKAGE'>().toExtend<KernelErrorCode>();
  if (error instanceof KernelError) {
    expectTypeOf(error.code).toEqualTypeOf<KernelErrorCode>();
    // @ts-expect-error: there is no such code.
    expectTypeOf(error.code === 'BUDGET_EXCEDED').toBeBoolean();
  }
  new BudgetError('BUDGET_EXCEEDED', 'Too much.');
  // @ts-expect-error: there is no such code.
  new BudgetError('BUDGET_EXCEDED', 'Too much.');
});

test('isKernelError with a code narrows the code and the facts', () => {
  if (isKernelError(error, 'BUDGET_EXCEEDED')) {
    expectTypeOf(error.code).toEqualTypeOf<'BUDGET_EXCEEDED'>();
    expectTypeOf(error.facts.process).toEqualTypeOf<Pid>();
    expectTypeOf(error.facts.limit).toEqualTypeOf<number | null>();
    expectTypeOf(error.facts.dimension).toExtend<string>();
    expectTypeOf(error.message).toBeString();
    expectTypeOf(error.retryable).toBeBoolean();
    // @ts-expect-error: the error has no such fact.
    error.facts.proces;
    // @ts-expect-error: a dimension is not a number.
    error.facts.dimension satisfies number;
    // @ts-expect-error: there is no such dimension.
    expectTypeOf(error.facts.dimension === 'tokenz').toBeBoolean();
  }
  // @ts-expect-error: there is no such code.
  isKernelError(error, 'BUDGET_EXCEDED');
});

test('isKernelError with several codes narrows to a union that the code tells apart', () => {
  if (isKernelError(error, 'NO_SUCH_IMAGE', 'CAPABILITY_DENIED')) {
    expectTypeOf(error.code).toEqualTypeOf<'NO_SUCH_IMAGE' | 'CAPABILITY_DENIED'>();
    // @ts-expect-error: only one of them has this fact.
    error.facts.known;
    if (error.code === 'NO_SUCH_IMAGE') expectTypeOf(error.facts.known).toEqualTypeOf<readonly string[]>();
    else expectTypeOf(error.facts.code).toEqualTypeOf<DecisionCode | KernelErrorCode | undefined>();
    // @ts-expect-error: the error cannot have this code.
    expectTypeOf(error.code === 'CONFLICT').toBeBoolean();
  }
});

test('isKernelError without a code narrows to every error, whose facts follow a comparison of the code', () => {
  if (isKernelError(error)) {
    expectTypeOf(error.code).toEqualTypeOf<KernelErrorCode>();
    expectTypeOf(error.facts.pid).toExtend<JsonValue | undefined>();
    if (error.code === 'NON_DETERMINISTIC') expectTypeOf(error.facts.recorded).toEqualTypeOf<string>();
    // @ts-expect-error: a fact of an error that is not known is any JSON.
    error.facts.recorded satisfies string;
  }
  // @ts-expect-error: nothing is known of a value that was not tested.
  error.code;
});

test('a narrowed error is a KernelError, and its facts are JSON', () => {
  if (isKernelError(error, 'PROCESS_FAILED', 'INVALID_INPUT', 'STORE_BUSY')) {
    expectTypeOf(error).toExtend<KernelError>();
    expectTypeOf(error.facts).toExtend<JsonObject>();
    // @ts-expect-error: it is not an error of a class of errors of budgets with another code.
    error satisfies { code: 'BUDGET_EXCEEDED' };
  }
  expectTypeOf<KernelErrorFacts[keyof KernelErrorFacts]>().toExtend<JsonObject>();
});

test('an error of a code without stable facts has JSON as its facts', () => {
  if (isKernelError(error, 'STORE_BUSY')) {
    expectTypeOf(error.facts).toEqualTypeOf<JsonObject>();
    // @ts-expect-error: it may be any JSON.
    error.facts.sqlite satisfies string;
  }
});

test('the facts of PROCESS_FAILED have the outcome', () => {
  if (isKernelError(error, 'PROCESS_FAILED')) {
    expectTypeOf(error.facts.outcome).toExtend<Outcome>();
    expectTypeOf(error.facts.outcome.kind).toEqualTypeOf<Outcome['kind']>();
    expectTypeOf(error.facts.status).toEqualTypeOf<'exited' | 'failed' | 'killed' | 'abandoned'>();
    // @ts-expect-error: there is no such outcome.
    expectTypeOf(error.facts.outcome.kind === 'crashed').toBeBoolean();
  }
});
