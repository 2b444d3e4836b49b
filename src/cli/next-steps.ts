import { endpoint } from './banner.js';

/** Commands to try on the demo: each crosses from one era to the other. `versions` names one revision of each. */
export function nextSteps(url: string, versions: { legacy: string; modern: string }): string {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: versions.legacy,
      capabilities: {},
      clientInfo: { name: 'curl', version: '1' },
    },
  };
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'whoami',
      arguments: {},
      _meta: {
        'io.modelcontextprotocol/protocolVersion': versions.modern,
        'io.modelcontextprotocol/clientInfo': { name: 'curl', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  };
  const modernHeaders = {
    'MCP-Protocol-Version': versions.modern,
    'Mcp-Method': call.method,
    'Mcp-Name': call.params.name,
  };
  return [
    'No upstream was given, so these are two demo servers. Things to try:',
    '',
    'A legacy client opens a session with the modern server:',
    '',
    curl(endpoint(url, 'modern'), {}, initialize),
    '',
    'A modern client calls a tool of the legacy server, which says how it was addressed:',
    '',
    curl(endpoint(url, 'legacy'), modernHeaders, call),
    '',
    'The MCP Inspector speaks either era, with --protocol-era legacy or modern (node@22 is the Node it needs):',
    '',
    `  npx -y -p node@22 -p @modelcontextprotocol/inspector@2 mcp-inspector --cli ${endpoint(url, 'modern')} \\`,
    '    --transport http --protocol-era legacy --method tools/call --tool-name whoami',
    '',
    'In front of your own server:',
    '',
    '  mcp-gangway serve --upstream https://your-server.example/mcp',
    '',
    '',
  ].join('\n');
}

/** A command for a POSIX shell; no text in it holds a single quote. */
function curl(url: string, headers: Readonly<Record<string, string>>, message: unknown): string {
  const all = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `-H '${name}: ${value}'`);
  return [`  curl -si ${url}`, ...lines, `-d '${JSON.stringify(message)}'`].join(' \\\n    ');
}
