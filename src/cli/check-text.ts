import { redactUrl } from '../config/redact.js';
import type { UpstreamReport } from '../upstreams/report.js';
import type { ClientOutlook, Compatibility, Finding } from './compatibility.js';

/** A report for people. Text from the server is stripped of control characters: it ends up in a terminal. */
export function checkText(report: UpstreamReport, outlook: Compatibility | undefined): string {
  const url = redactUrl(report.url);
  const verdict = report.era === 'unknown' ? `${url}: era unknown` : `${url} speaks the ${report.era} era`;
  const lines = [verdict, ''];
  if (report.error !== undefined) {
    lines.push(fact('Error', `${report.error.message} (${report.error.code})`));
  }
  if (report.serverInfo !== undefined) {
    lines.push(fact('Server', `${report.serverInfo.name} ${report.serverInfo.version}`));
  }
  if (report.versions.length > 0) lines.push(fact('Versions', report.versions.join(', ')));
  if (report.capabilities !== undefined) lines.push(fact('Offers', capabilityText(report.capabilities)));
  if (report.offersGetStream !== undefined) {
    lines.push(fact('GET stream', report.offersGetStream ? 'yes' : 'no'));
  }
  lines.push(...report.evidence.map((text, index) => fact(index === 0 ? 'Evidence' : '', text)));
  if (outlook !== undefined) {
    lines.push('', ...clientText('Legacy', outlook.legacy), '', ...clientText('Modern', outlook.modern));
  }
  return `${lines.join('\n')}\n`;
}

function clientText(era: string, { path, works, lost }: ClientOutlook): string[] {
  const how = path === 'relayed' ? 'same era, relayed' : 'other era, translated';
  return [
    `${era} clients through the gateway (${how})`,
    ...works.map((finding) => findingText('+', finding)),
    ...(lost.length === 0 ? ['  - nothing is lost'] : lost.map((finding) => findingText('-', finding))),
  ];
}

function findingText(mark: string, { topic, text }: Finding): string {
  return printable(`  ${mark} ${topic}: ${text}`);
}

function fact(name: string, text: string): string {
  return printable(`  ${name.padEnd(10)} ${text}`);
}

function capabilityText(capabilities: Record<string, unknown>): string {
  const parts = Object.entries(capabilities).map(([name, value]) => {
    const members = typeof value === 'object' && value !== null ? Object.keys(value) : [];
    return members.length === 0 ? name : `${name} (${members.join(', ')})`;
  });
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}
