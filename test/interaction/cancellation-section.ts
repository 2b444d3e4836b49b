const BEGIN = '<!-- cancellation matrix: npm run docs:cancellation -->\n<!-- prettier-ignore-start -->\n';
const END = '<!-- prettier-ignore-end -->\n';

/** A page with what stands between the marks of the cancellation matrix replaced. @throws Error without the marks */
export function withMatrix(page: string, matrix: string): string {
  const start = page.indexOf(BEGIN);
  const end = page.indexOf(END, start);
  if (start < 0 || end < 0) throw new Error('the marks of the cancellation matrix are not on the page');
  return `${page.slice(0, start + BEGIN.length)}\n${matrix}\n${page.slice(end)}`;
}
