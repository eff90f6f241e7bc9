import { missingPackage } from '../../base/package/missing-package.js';

/** The parts of LangChain's core that messages and tools are made with. */
export type CorePackage = Pick<
  typeof import('@langchain/core/messages'),
  'ToolMessage' | 'convertToChunk' | 'mapStoredMessageToChatMessage'
> &
  Pick<typeof import('@langchain/core/tools'), 'DynamicStructuredTool'> &
  Pick<typeof import('@langchain/core/utils/json_schema'), 'toJsonSchema'>;

/** Loads the package on first use: it is an optional dependency. Throws MISSING_PACKAGE. */
export async function loadCore(): Promise<CorePackage> {
  const missing = missingPackage('@langchain/core', '1');
  const messages = await import('@langchain/core/messages').catch(missing);
  const tools = await import('@langchain/core/tools').catch(missing);
  const schemas = await import('@langchain/core/utils/json_schema').catch(missing);
  return { ...messages, ...tools, ...schemas };
}
