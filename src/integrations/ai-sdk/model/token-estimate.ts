import type { ModelCall, ModelPart, PromptMessage } from './model-call.js';

/** Counts the tokens of a text, such as `count` of a `Tokenizer`. */
export type CountTokens = (text: string) => number;

/** Added for each message: what providers put around it. */
const tokensPerMessage = 4;
/** For a file in a prompt, whose tokens depend on its content and not on its size. */
const tokensPerFile = 1_600;

/** The tokens of a request, estimated from above. */
export interface InputEstimate {
  /** Of the messages. */
  readonly messages: number;
  /** Of the schemas of tools and of the answer, which providers write down in their own ways. */
  readonly schemas: number;
}

/**
 * The tokens of a request, estimated from above: half of its bytes in UTF-8, or the count of `countTokens` and a tenth. No
 * tokenizer in use makes more of text, code or JSON.
 */
export function estimateInput(call: ModelCall, countTokens?: CountTokens): InputEstimate {
  const { prompt, tools = [], responseFormat } = call;
  const files = prompt.reduce((sum, { content }) => sum + countFiles(content), 0);
  const messages = estimateText(prompt.map(textOfMessage).join('\n'), countTokens);
  const schemas = [...tools, ...(responseFormat === undefined ? [] : [responseFormat])];
  return {
    messages: messages + tokensPerMessage * prompt.length + tokensPerFile * files,
    schemas: schemas.length === 0 ? 0 : estimateText(JSON.stringify(schemas), countTokens),
  };
}

/** The tokens of a text, estimated from above. */
export function estimateText(text: string, countTokens?: CountTokens): number {
  const counted = countTokens?.(text);
  if (counted !== undefined && Number.isFinite(counted) && counted >= 0) return Math.ceil(counted * 1.1);
  return Math.ceil(Buffer.byteLength(text) / 2);
}

function textOfMessage({ content }: PromptMessage): string {
  return typeof content === 'string' ? content : content.map(textOfPart).join('\n');
}

/** The text of a part as it is sent: what a text says, and everything else but files as JSON. */
function textOfPart(part: ModelPart): string {
  if (part.type === 'file') return '';
  if (typeof part.text === 'string') return part.text;
  const { toolName, input, output } = part;
  return [toolName, input, output].map((value) => (value === undefined ? '' : JSON.stringify(value))).join(' ');
}

function countFiles(content: PromptMessage['content']): number {
  return typeof content === 'string' ? 0 : content.filter(({ type }) => type === 'file').length;
}
