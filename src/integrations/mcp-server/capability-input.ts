import { z } from 'zod';
import { type Atom, rights } from '../../index.js';

/** The terms of a capability, as a client writes them. The kernel looks at them again, and more closely. */
export const capabilityInput = z.strictObject({
  resource: z
    .string()
    .describe(
      'KIND:PATTERN, such as "tool:fs.read", "fs:src/**" or "net:api.example.com/443". ** stands at the end only.',
    ),
  rights: z.array(z.enum(rights)).min(1).describe('What may be done with it; for a tool that is ["call"].'),
  constraints: z
    .record(
      z.string(),
      z.custom<Atom>((value) => typeof value === 'object' && value !== null),
    )
    .describe('Limits on arguments by path, such as {"path": {"prefix": "notes/"}} or {"amount": {"range": [0, 10]}}.')
    .exactOptional(),
  uses: z.number().int().min(1).describe('How often it can be used; absent: any number of times.').exactOptional(),
  expiresAt: z.number().int().describe('When it ends, in milliseconds since 1970; absent: never.').exactOptional(),
  delegable: z.boolean().describe('Whether it may be handed on to others.').exactOptional(),
});
