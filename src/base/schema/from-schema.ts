import type { JsonObject, JsonValue } from '../json.js';

/**
 * The type of the values that a JSON Schema describes, as far as its literal tells it: `type`, `properties`, `required`,
 * `items`, `enum`, `const`, `anyOf` and `oneOf`. `JsonValue` for everything else.
 *
 * @example type Point = FromSchema<{ type: 'object'; properties: { x: { type: 'number' } }; required: ['x'] }>; // { x: number }
 */
export type FromSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer Part)[] } | { readonly oneOf: readonly (infer Part)[] }
      ? FromSchema<Part>
      : S extends { readonly type: readonly (infer Type)[] }
        ? OfType<S, Type>
        : S extends { readonly type: infer Type }
          ? OfType<S, Type>
          : JsonValue;

/** Distributes over the names of types. */
type OfType<S, Type> = Type extends 'object'
  ? ObjectOf<S>
  : Type extends 'array'
    ? S extends { readonly items: infer Items }
      ? FromSchema<Items>[]
      : JsonValue[]
    : Type extends keyof PrimitiveTypes
      ? PrimitiveTypes[Type]
      : JsonValue;

interface PrimitiveTypes {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
}

type ObjectOf<S> = S extends { readonly properties: infer Properties }
  ? Flat<
      {
        -readonly [Name in keyof Properties as Name extends RequiredOf<S> ? Name : never]: FromSchema<Properties[Name]>;
      } & {
        -readonly [Name in keyof Properties as Name extends RequiredOf<S> ? never : Name]?: FromSchema<
          Properties[Name]
        >;
      }
    >
  : JsonObject;

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type Flat<T> = { [Name in keyof T]: T[Name] };
