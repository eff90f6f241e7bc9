import type { JsonValue } from '../json.js';
import type { FromSchema } from './from-schema.js';
import type { JsonSchema, ValidationResult } from './json-schema.js';

/**
 * A schema that validates values of type `Output`: any Standard Schema, such as those of zod, valibot and arktype, or a JSON
 * Schema. `Input` is what it accepts, which differs from `Output` where the schema has defaults or transforms.
 */
export type Schema<Output = unknown, Input = unknown> = StandardSchema<Input, Output> | JsonSchema;

/** The part of the Standard Schema interface that is used: every zod, valibot or arktype schema has it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    /** Checks a value: gives the output, or the issues. */
    readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>;
    /** Carries the types; never present at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

interface SchemaTypes<Input, Output> {
  readonly input: Input;
  readonly output: Output;
}

/** The types of a schema; those of a JSON Schema come from its literal. */
type TypesOf<S> = S extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types>
  : SchemaTypes<FromSchema<S>, FromSchema<S>>;

/** The type of the values that a schema gives back. */
export type SchemaOutput<S> = TypesOf<S> extends { readonly output: infer Output } ? KnownType<Output> : JsonValue;

/** The type of the values that a schema accepts. */
export type SchemaInput<S> = TypesOf<S> extends { readonly input: infer Input } ? KnownType<Input> : JsonValue;

/** The type itself, or `JsonValue` where nothing is known about it. */
export type KnownType<T> = unknown extends T ? JsonValue : T;
