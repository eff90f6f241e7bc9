/** An error of the command itself, as opposed to the kernel's errors. */
export class CliError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
    this.name = 'CliError';
  }
}
