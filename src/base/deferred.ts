/** A promise that is resolved from outside, as Promise.withResolvers gives it in later versions of Node.js. */
export class Deferred<T = void> {
  readonly promise: Promise<T>;
  /** Can be passed on as a function. Calls after the first change nothing. */
  readonly resolve: (value: T) => void;

  constructor() {
    let resolve: (value: T) => void = () => undefined;
    this.promise = new Promise((settle) => {
      resolve = settle;
    });
    this.resolve = resolve;
  }
}
