/** What a scenario needs from a client; the clients of both SDKs have it. */
export interface ScenarioClient {
  listTools(): Promise<{ tools: any[] }>;
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
  listResources(): Promise<{ resources: any[] }>;
  readResource(params: { uri: string }): Promise<unknown>;
  listPrompts(): Promise<{ prompts: any[] }>;
  getPrompt(params: { name: string }): Promise<unknown>;
}

export interface ScenarioRun {
  readonly client: ScenarioClient;
  /** The test data some scenarios hand to the client. */
  readonly context: any;
  /** Set a handler here to answer elicitations; without one they are accepted with an empty form. */
  onElicit: (() => Promise<Record<string, unknown>>) | undefined;
}

const accepted = (content: Record<string, unknown>): Record<string, unknown> => ({
  action: 'accept',
  content,
});

/** What a well-behaved client does in each of the suite's client scenarios, in either era. */
export const clientScenarios: Record<string, (run: ScenarioRun) => Promise<void>> = {
  initialize: async ({ client }) => {
    await client.listTools();
  },

  tools_call: async ({ client }) => {
    await client.listTools();
    await client.callTool({ name: 'add_numbers', arguments: { a: 5, b: 3 } });
  },

  // The empty form is the point: the SDK fills in the defaults of the schema.
  'elicitation-sep1034-client-defaults': async ({ client }) => {
    await client.listTools();
    await client.callTool({ name: 'test_client_elicitation_defaults', arguments: {} });
  },

  'sse-retry': async ({ client }) => {
    await client.listTools();
    await client.callTool({ name: 'test_reconnection', arguments: {} });
  },

  'json-schema-2020-12-preservation': async ({ client }) => {
    const { tools } = await client.listTools();
    const schema = tools.find((tool) => tool.name === 'json_schema_2020_12_tool')?.inputSchema;
    await client.callTool({ name: 'json_schema_echo', arguments: { schema } });
  },

  'json-schema-ref-no-deref': async ({ client }) => {
    await client.listTools();
  },

  'request-metadata': async ({ client }) => {
    await client.listTools();
    await client.callTool({ name: 'anything', arguments: {} });
  },

  // Another tool is called while the question is open: its request must carry nothing of the question's.
  'sep-2322-client-request-state': async (run) => {
    const { client } = run;
    await client.listTools();
    run.onElicit = async () => {
      await client.callTool({ name: 'test_mrtr_unrelated', arguments: {} });
      return accepted({ confirmed: true });
    };
    await client.callTool({ name: 'test_mrtr_echo_state', arguments: {} });
    await client.callTool({ name: 'test_mrtr_no_state', arguments: {} });
    // SDK v2 refuses a result without resultType from a 2026-07-28 server, where the suite wants it read as
    // complete. What the suite observes is only that the call is not retried.
    await client.callTool({ name: 'test_mrtr_no_result_type', arguments: {} }).catch(() => undefined);
  },

  'http-standard-headers': async ({ client }) => {
    const { tools } = await client.listTools();
    for (const tool of tools) await client.callTool({ name: tool.name, arguments: {} });
    const { resources } = await client.listResources();
    for (const resource of resources) await client.readResource({ uri: resource.uri });
    const { prompts } = await client.listPrompts();
    for (const prompt of prompts) await client.getPrompt({ name: prompt.name });
  },

  'http-custom-headers': async ({ client, context }) => {
    await client.listTools();
    for (const call of context.toolCalls) await client.callTool(call);
  },

  // Calls whatever is left of the list: tools with invalid annotations must not be.
  'http-invalid-tool-headers': async ({ client }) => {
    const { tools } = await client.listTools();
    for (const { name, inputSchema } of tools) {
      const properties = Object.keys(inputSchema.properties ?? {});
      await client.callTool({
        name,
        arguments: Object.fromEntries(properties.map((property) => [property, 'value'])),
      });
    }
  },
};

/** The answers of a scenario's client: accepts what is asked, with the scenario's own content if it has one. */
export async function answerElicitation(run: ScenarioRun): Promise<Record<string, unknown>> {
  return run.onElicit ? run.onElicit() : accepted({});
}
