import { textResult, toolDefinition } from './fixture-tool.js';
import type { FixtureTool, JsonObject } from './fixture-tool.js';
import { formQuestion, rootsQuestion, sampledText, samplingQuestion, stringQuestion } from './questions.js';

const option = (value: string, title: string): JsonObject => ({ const: value, title });

/** The tools that ask the user or the model, as the suite drives them at 2025-11-25. */
const requestTools: FixtureTool[] = [
  {
    definition: toolDefinition(
      'test_sampling',
      'Asks the client for a completion',
      { prompt: { type: 'string' } },
      ['prompt'],
    ),
    run: async (args, ctx) => {
      const { answer } = await ctx.ask({ answer: samplingQuestion(String(args['prompt'])) });
      return textResult(`LLM response: ${sampledText(answer)}`);
    },
  },
  {
    definition: toolDefinition('test_elicitation', 'Asks the user', { message: { type: 'string' } }, [
      'message',
    ]),
    run: async (args, ctx) => {
      const { user } = await ctx.ask({
        user: formQuestion(
          String(args['message']),
          {
            username: { type: 'string', description: "User's response" },
            email: { type: 'string', description: "User's email address" },
          },
          ['username', 'email'],
        ),
      });
      return textResult(
        `User response: action=${user.action}, content=${JSON.stringify(user.content ?? {})}`,
      );
    },
  },
  {
    definition: toolDefinition('test_elicitation_sep1034_defaults', 'Asks with default values'),
    run: async (_args, ctx) => {
      const { form } = await ctx.ask({
        form: formQuestion('Please review and update the form fields with defaults', {
          name: { type: 'string', description: 'User name', default: 'John Doe' },
          age: { type: 'integer', description: 'User age', default: 30 },
          score: { type: 'number', description: 'User score', default: 95.5 },
          status: {
            type: 'string',
            description: 'User status',
            enum: ['active', 'inactive', 'pending'],
            default: 'active',
          },
          verified: { type: 'boolean', description: 'Verification status', default: true },
        }),
      });
      return textResult(
        `Elicitation completed: action=${form.action}, content=${JSON.stringify(form.content ?? {})}`,
      );
    },
  },
  {
    definition: toolDefinition('test_elicitation_sep1330_enums', 'Asks with every form of enum'),
    run: async (_args, ctx) => {
      const plain = ['option1', 'option2', 'option3'];
      const titled = [option('value1', 'First'), option('value2', 'Second'), option('value3', 'Third')];
      const { form } = await ctx.ask({
        form: formQuestion('Please select options from the enum fields', {
          untitledSingle: { type: 'string', enum: plain },
          titledSingle: { type: 'string', oneOf: titled },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
          titledMulti: { type: 'array', items: { anyOf: titled } },
        }),
      });
      return textResult(
        `Elicitation completed: action=${form.action}, content=${JSON.stringify(form.content ?? {})}`,
      );
    },
  },
  {
    definition: toolDefinition('test_missing_capability', 'Needs sampling and asks for it undeclared'),
    run: async (_args, ctx) => {
      const { answer } = await ctx.ask({ answer: samplingQuestion('Say hello') }, { undeclared: true });
      return textResult(sampledText(answer));
    },
  },
];

/** The tools of SEP-2322. A legacy server that has them asks the same questions as requests. */
const inputRequiredTools: FixtureTool[] = [
  {
    definition: toolDefinition('test_input_required_result_elicitation', 'Asks for a name'),
    run: async (_args, ctx) => {
      const { user_name: user } = await ctx.ask({ user_name: stringQuestion('What is your name?', 'name') });
      return textResult(`Hello, ${user.content?.name ?? user.action}!`);
    },
  },
  {
    definition: toolDefinition('test_input_required_result_sampling', 'Asks the model'),
    run: async (_args, ctx) => {
      const { capital_question: answer } = await ctx.ask({
        capital_question: samplingQuestion('What is the capital of France?'),
      });
      return textResult(sampledText(answer));
    },
  },
  {
    definition: toolDefinition('test_input_required_result_list_roots', 'Asks for the roots'),
    run: async (_args, ctx) => {
      const { client_roots: roots } = await ctx.ask({ client_roots: rootsQuestion });
      return textResult(`Roots: ${roots.roots.map((root: any) => root.uri).join(', ')}`);
    },
  },
  {
    definition: toolDefinition('test_input_required_result_request_state', 'Asks and checks its own state'),
    run: async (_args, ctx) => {
      const question = formQuestion('Please confirm', { ok: { type: 'boolean' } }, ['ok']);
      await ctx.ask({ confirm: question }, { sealed: true });
      return textResult('state-ok');
    },
  },
  {
    definition: toolDefinition('test_input_required_result_multiple_inputs', 'Asks three things at once'),
    run: async (_args, ctx) => {
      const answers = await ctx.ask(
        {
          user_name: stringQuestion('What is your name?', 'name'),
          greeting: samplingQuestion('Generate a greeting', 50),
          client_roots: rootsQuestion,
        },
        { sealed: true },
      );
      const name = answers['user_name'].content?.name;
      const roots = answers['client_roots'].roots.length;
      return textResult(`${sampledText(answers['greeting'])} ${name} - ${roots} root(s) visible`);
    },
  },
  {
    definition: toolDefinition('test_input_required_result_multi_round', 'Asks twice'),
    run: async (_args, ctx) => {
      const first = await ctx.ask(
        { step1: stringQuestion('Step 1: What is your name?', 'name') },
        { sealed: true },
      );
      const second = await ctx.ask(
        { step2: stringQuestion('Step 2: What is your favorite color?', 'color') },
        { sealed: true },
      );
      return textResult(`${first['step1'].content?.name} likes ${second['step2'].content?.color}`);
    },
  },
  {
    definition: toolDefinition(
      'test_input_required_result_tampered_state',
      'Refuses a state it did not seal',
    ),
    run: async (_args, ctx) => {
      const question = formQuestion('Please confirm', { ok: { type: 'boolean' } }, ['ok']);
      await ctx.ask({ confirm: question }, { sealed: true });
      return textResult('state-ok');
    },
  },
  {
    definition: toolDefinition(
      'test_input_required_result_capabilities',
      'Asks only what the client declared',
    ),
    run: async (_args, ctx) => {
      const answers = await ctx.ask({
        ...(ctx.clientCapabilities['sampling'] ? { greeting: samplingQuestion('Generate a greeting') } : {}),
        ...(ctx.clientCapabilities['elicitation']
          ? { user_name: stringQuestion('What is your name?', 'name') }
          : {}),
      });
      return textResult(`Answered: ${Object.keys(answers).join(', ')}`);
    },
  },
];

export const askingTools: FixtureTool[] = [...requestTools, ...inputRequiredTools];
