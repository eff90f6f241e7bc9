/** Keeps the program running while somebody waits for something that another program may do. */
export function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, 2 ** 30);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
