import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { TokenCounterRepository } from '../../memory/tokens/token-counter-repository.js';
import { settingRows } from '../working-set/tables.js';

const name = 'token_counter';

@injectable()
export class SqlTokenCounterRepository implements TokenCounterRepository {
  async find(tx: ReadTx): Promise<string | undefined> {
    return (await settingRows.get(tx, name))?.value;
  }

  async insert(tx: WriteTx, value: string): Promise<void> {
    settingRows.insert(tx, { name, value });
  }
}
