import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Fifo } from '../../src/storage/units/fifo.js';

type Step = { readonly push: number } | { readonly shift: number } | { readonly remove: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ push: fc.integer({ min: 1, max: 900 }) }),
    fc.record({ shift: fc.integer({ min: 1, max: 900 }) }),
    fc.record({ remove: fc.integer({ min: 2, max: 5 }) }),
  ),
  { maxLength: 20 },
);

it('a Fifo returns the same as an array for any sequence of operations', () => {
  fc.assert(
    fc.property(steps, (given) => {
      const fifo = new Fifo<number>();
      let model: number[] = [];
      let next = 0;
      for (const step of given) {
        if ('push' in step) {
          for (let n = 0; n < step.push; n++, next++) {
            fifo.push(next);
            model.push(next);
          }
        } else if ('shift' in step) {
          for (let n = 0; n < step.shift; n++) expect(fifo.shift()).toBe(model.shift());
        } else {
          const isSelected = (item: number) => item % step.remove === 0;
          expect(fifo.remove(isSelected)).toEqual(model.filter(isSelected));
          model = model.filter((item) => !isSelected(item));
        }
        expect([fifo.length, fifo.head]).toEqual([model.length, model[0]]);
      }
    }),
    { numRuns: 50 },
  );
});
