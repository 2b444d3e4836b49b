import { imageBlock, WAV } from './media.js';
import { pause, textResult, toolDefinition } from './fixture-tool.js';
import type { FixtureTool } from './fixture-tool.js';

/** The tools whose answers need nobody: what the suite calls for every kind of content, logging and progress. */
export const contentTools: FixtureTool[] = [
  {
    definition: toolDefinition('test_simple_text', 'Simple text'),
    run: () => textResult('This is a simple text response for testing.'),
  },
  {
    definition: toolDefinition('test_image_content', 'An image'),
    run: () => ({ content: [imageBlock] }),
  },
  {
    definition: toolDefinition('test_audio_content', 'Audio'),
    run: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  },
  {
    definition: toolDefinition('test_embedded_resource', 'An embedded resource'),
    run: () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    }),
  },
  {
    definition: toolDefinition('test_multiple_content_types', 'Text, an image and a resource'),
    run: () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        imageBlock,
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
  },
  {
    definition: toolDefinition('test_tool_with_logging', 'Logs three lines while it runs'),
    run: async (_args, ctx) => {
      await ctx.log('info', 'Tool execution started');
      await pause(50, ctx.signal);
      await ctx.log('info', 'Tool processing data');
      await pause(50, ctx.signal);
      await ctx.log('info', 'Tool execution completed');
      return textResult('Tool with logging executed successfully');
    },
  },
  {
    definition: toolDefinition('test_logging_tool', 'Logs one line'),
    run: async (_args, ctx) => {
      await ctx.log('info', 'Log line of test_logging_tool');
      return textResult('Logged');
    },
  },
  {
    definition: toolDefinition('test_tool_with_progress', 'Reports progress 0, 50, 100'),
    run: async (_args, ctx) => {
      for (const done of [0, 50, 100]) {
        await ctx.progress(done, 100, `Completed step ${done} of 100`);
        await pause(50, ctx.signal);
      }
      return textResult(String(ctx.meta['progressToken']));
    },
  },
  {
    definition: toolDefinition('test_error_handling', 'Always fails'),
    run: () => ({ ...textResult('This tool intentionally returns an error for testing'), isError: true }),
  },
  {
    definition: {
      name: 'json_schema_2020_12_tool',
      description: 'Its schema uses the JSON Schema 2020-12 vocabulary',
      inputSchema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: {
          address: {
            $anchor: 'addressDef',
            type: 'object',
            properties: { street: { type: 'string' }, city: { type: 'string' } },
          },
        },
        properties: {
          name: { type: 'string' },
          address: { $ref: '#/$defs/address' },
          contactMethod: { type: 'string', enum: ['phone', 'email'] },
          phone: { type: 'string' },
          email: { type: 'string' },
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
      },
    },
    run: (args) => textResult(JSON.stringify(args)),
  },
  {
    definition: toolDefinition(
      'test_reconnection',
      'Closes its stream mid-call; the result follows on resume',
    ),
    run: async (_args, ctx) => {
      ctx.closeStream();
      await pause(100, ctx.signal);
      return textResult('Reconnection test completed successfully');
    },
  },
  {
    definition: toolDefinition('test_x_mcp_header', 'Its region is mirrored into a header', {
      region: { type: 'string', description: 'mirrored', 'x-mcp-header': 'Region' },
      level: { type: 'integer', description: 'not mirrored' },
    }),
    run: (args) => textResult(`region=${String(args['region'])}`),
  },
  {
    definition: toolDefinition('test_streaming_elicitation', 'A plain result without requests on its stream'),
    run: () => textResult('No request was sent'),
  },
  {
    definition: toolDefinition('test_trigger_tool_change', 'Announces that the tool list changed'),
    run: async (_args, ctx) => {
      await ctx.announce('tools');
      return textResult('Announced');
    },
  },
  {
    definition: toolDefinition('test_trigger_prompt_change', 'Announces that the prompt list changed'),
    run: async (_args, ctx) => {
      await ctx.announce('prompts');
      return textResult('Announced');
    },
  },
];
