import { FixtureError } from './fixture-tool.js';
import type { FixtureContext, FixturePrompt, JsonObject } from './fixture-tool.js';
import { imageBlock } from './media.js';
import { stringQuestion } from './questions.js';

const userMessage = (content: JsonObject): JsonObject => ({ role: 'user', content });
const userText = (text: string): JsonObject => userMessage({ type: 'text', text });
const argument = (name: string): JsonObject => ({ name, description: `The ${name}`, required: true });

export const prompts: FixturePrompt[] = [
  {
    definition: { name: 'test_simple_prompt', description: 'A prompt without arguments' },
    get: () => ({ messages: [userText('This is a simple prompt for testing.')] }),
  },
  {
    definition: {
      name: 'test_prompt_with_arguments',
      description: 'A prompt with two arguments',
      arguments: [argument('arg1'), argument('arg2')],
    },
    get: (args) => ({
      messages: [
        userText(`Prompt with arguments: arg1='${String(args['arg1'])}', arg2='${String(args['arg2'])}'`),
      ],
    }),
  },
  {
    definition: {
      name: 'test_prompt_with_embedded_resource',
      description: 'A prompt that embeds a resource',
      arguments: [argument('resourceUri')],
    },
    get: (args) => ({
      messages: [
        userMessage({
          type: 'resource',
          resource: {
            uri: String(args['resourceUri']),
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        }),
        userText('Please process the embedded resource above.'),
      ],
    }),
  },
  {
    definition: { name: 'test_prompt_with_image', description: 'A prompt with an image' },
    get: () => ({ messages: [userMessage(imageBlock), userText('Please analyze the image above.')] }),
  },
  {
    definition: {
      name: 'test_input_required_result_prompt',
      description: 'A prompt that asks the user first',
    },
    get: async (_args, ctx) => {
      const { user_context: user } = await ctx.ask({
        user_context: stringQuestion('What context should the prompt use?', 'context'),
      });
      return { messages: [userText(`Context: ${user.content?.context ?? user.action}`)] };
    },
  },
];

/** `prompts/get`; an unknown name is an invalid parameter in both eras. */
export async function getPrompt(name: string, args: JsonObject, ctx: FixtureContext): Promise<JsonObject> {
  const prompt = prompts.find((candidate) => candidate.definition.name === name);
  if (!prompt) throw new FixtureError(-32602, `Unknown prompt: ${name}`);
  return await prompt.get(args, ctx);
}

const COMPLETIONS = ['paris', 'park', 'party', 'pasta', 'test-one', 'test-two'];

/** `completion/complete`: the known words that start with what was typed. */
export function completeArgument(value: string): JsonObject {
  const values = COMPLETIONS.filter((word) => word.startsWith(value));
  return { completion: { values, total: values.length, hasMore: false } };
}
