/** A refusal of the command itself, before or beside the kernel's own. */
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
