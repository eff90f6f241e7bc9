import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';

/** Signs the head of the log. */
export async function checkpoint(options: CommonOptions): Promise<void> {
  await withWritableStore(
    options,
    async () => undefined,
    async ({ audit }) => {
      const signed = await audit.checkpoint();
      if (options.json === true) return writeJson(signed);
      await writeLine(`Signed ${signed.size} records of log ${signed.log}`);
      await writeLine(`root      ${signed.root}`);
      await writeLine(`key       ${signed.key}`);
      await writeLine(`signature ${signed.signature}`);
    },
  );
}
