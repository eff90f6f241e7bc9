import { atomDescriptions } from '../../src/capability/constraint/atom-descriptions.js';
import { constrainedKinds } from '../../src/capability/constraint/constraints-spec.js';
import { resourceKinds } from '../../src/capability/resource/resource.js';
import { kindDescriptions } from '../../src/capability/resource/rights.js';
import { budgetDimensions, chargedDimensions, dimensionDescriptions } from '../../src/kernel/budget/budget.js';
import { code, table } from './markdown.js';

export function resourceTable(): string {
  const rows = resourceKinds.map((kind) => {
    const { rights, meaning, example } = kindDescriptions[kind];
    const constraints = constrainedKinds.has(kind) ? 'yes' : 'no';
    return [code(kind), meaning, code(example), rights.map(code).join(', '), constraints];
  });
  return table(['kind', 'resource', 'example', 'rights', 'constraints'], rows);
}

export function atomTable(): string {
  const rows = Object.entries(atomDescriptions).map(([, { meaning, example, accepted, refused }]) => [
    code(
      JSON.stringify(example)
        .replace(/"(\w+)":/g, ' $1: ')
        .replace(/}$/, ' }')
        .replace(/: +/g, ': '),
    ),
    meaning,
    code(JSON.stringify(accepted)),
    refused === undefined ? '' : code(JSON.stringify(refused)),
  ]);
  return table(['atom', 'accepts', 'such as', 'but not'], rows);
}

export function budgetTable(): string {
  const rows = budgetDimensions.map((dimension) => [
    code(dimension),
    dimensionDescriptions[dimension],
    (chargedDimensions as readonly string[]).includes(dimension) ? 'yes' : 'no',
  ]);
  return table(['dimension', 'what it counts', 'also by `charge` and `reserve`'], rows);
}
