import { describeNode } from './issue-text.js';
import { configJsonSchema, variants, type SchemaNode } from './schema-node.js';

const INTRODUCTION = `# Configuration

<!-- Made by \`npm run docs:config\` from the schema under src/config/; edit that. -->

Every setting has a default, so \`mcp-gangway serve --upstream https://example.com/mcp\` is a whole configuration.
Settings come from, first wins: command line, environment, file, default. The file is YAML or JSON, named by
\`--config FILE\` or \`MCP_GANGWAY_CONFIG\`. An unknown key is an error. \`mcp-gangway config print\` shows what the
gateway makes of it all, with secrets hidden; \`mcp-gangway config schema\` prints the JSON Schema for editors.

\`\`\`yaml
listen: 0.0.0.0:8808
publicUrl: https://mcp.example.com/mcp
allowedHosts: [mcp.example.com]
upstreams:
  default:
    url: https://tools.internal.example/mcp
  search:
    url: https://search.example/mcp
    era: modern
    headers:
      X-Team: \${TEAM:-platform}
\`\`\`

## Variables in the file

In string values \`\${NAME}\` stands for the environment variable of that name and \`\${NAME:-text}\` for \`text\` when
it is unset or empty. A variable that is not set and has no such text is an error. \`$\${\` is a literal \`\${\`. Where a
number or a boolean belongs, the result is read as one.

## Command line and environment
`;

const OVERRIDES = [
  ['Flag of `serve` and `config print`', 'Variable', 'Sets'],
  ['`--config FILE`', '`MCP_GANGWAY_CONFIG`', 'the file to read'],
  ['`--listen ADDR`', '`MCP_GANGWAY_LISTEN`', '`listen`'],
  [
    '`--upstream URL` or `NAME=URL`, repeatable',
    '`MCP_GANGWAY_UPSTREAM`, several separated by spaces',
    "`upstreams`, in place of all of the file's; a URL without name is `default`",
  ],
  ['`--era auto`, `legacy` or `modern`', '', '`era` of every upstream'],
  ['`--log-level LEVEL`', '`MCP_GANGWAY_LOG_LEVEL`', '`logging.level`'],
  ['', '`MCP_GANGWAY_PUBLIC_URL`', '`publicUrl`'],
];

/** The reference page of the configuration in Markdown, made from the schema and its descriptions. */
export function configReference(): string {
  const root = configJsonSchema();
  const top: [string, SchemaNode][] = [];
  const sections: string[] = [];
  for (const [name, node] of Object.entries(root.properties ?? {})) {
    const entry = itemOf(node);
    if (node.oneOf !== undefined) {
      top.push(...alternatives(name, node));
    } else if (entry !== undefined) {
      sections.push(section(`${name}.NAME`, node.description, leaves(entry)));
    } else if (node.type === 'object') {
      sections.push(section(name, node.description, leaves(node)));
    } else {
      top.push([name, node], ...variants(node).flatMap((variant) => leaves(variant, `${name}.`)));
    }
  }
  return [INTRODUCTION, table(OVERRIDES), section('Top level', undefined, top), ...sections].join('\n');
}

/** The schema of each value in an object with free keys. */
function itemOf(node: SchemaNode): SchemaNode | undefined {
  return typeof node.additionalProperties === 'object' && node.additionalProperties.type === 'object'
    ? node.additionalProperties
    : undefined;
}

/** The settings in an object, those of nested objects and of every alternative included, under their full names. */
function leaves(node: SchemaNode, prefix = ''): [string, SchemaNode][] {
  const required = new Set(node.required);
  return Object.entries(node.properties ?? {}).flatMap(([name, member]): [string, SchemaNode][] => {
    const path = `${prefix}${name}`;
    if (member.oneOf !== undefined) return alternatives(path, member);
    if (member.properties !== undefined) return leaves(member, `${path}.`);
    return [[path, required.has(name) && !('default' in member) ? { ...member, default: REQUIRED } : member]];
  });
}

const REQUIRED = Symbol('required');

/** A union tells its alternatives apart by one key, such as `mode`: a row for the choice, then the settings of each. */
function alternatives(path: string, node: SchemaNode): [string, SchemaNode][] {
  const choices = variants(node);
  const first = Object.entries(choices[0]?.properties ?? {}).find(([, member]) => member.const !== undefined);
  const key = first?.[0] ?? '';
  const meanings = choices.map(
    (choice) => `\`${choice.properties?.[key]?.const ?? ''}\`: ${choice.description ?? ''}`,
  );
  const choice: SchemaNode = {
    anyOf: choices.flatMap((variant) => variant.properties?.[key] ?? []),
    description: [node.description, ...meanings].join(' '),
    default: first?.[1].const,
  };
  const settings = choices.flatMap((variant) => leaves(variant, `${path}.`));
  return [[`${path}.${key}`, choice], ...settings.filter(([name]) => name !== `${path}.${key}`)];
}

function section(
  title: string,
  description: string | undefined,
  rows: readonly [string, SchemaNode][],
): string {
  const heading = title === 'Top level' ? `## ${title}\n` : `## \`${title}\`\n`;
  const cells = rows.map(([name, node]) => [
    `\`${name}\``,
    describeNode(node),
    byDefault(node),
    node.description ?? '',
  ]);
  const body = table([['Key', 'Value', 'Default', 'Meaning'], ...cells]);
  return [heading, ...(description === undefined ? [] : [`${description}\n`]), body].join('\n');
}

function byDefault(node: SchemaNode): string {
  if (node.default === REQUIRED) return 'required';
  return node.default === undefined ? 'none' : `\`${plain(node.default)}\``;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A Markdown table with even columns, as the formatter of this repository wants it. */
function table(rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = (escaped[0] ?? []).map((_, column) =>
    Math.max(3, ...escaped.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...body] = escaped;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...body.map(line), ''].join('\n');
}
