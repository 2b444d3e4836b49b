/** Writes the cancellation matrix into MIGRATION.md: `npm run docs:cancellation`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { ERAS } from '../peers/cells.js';
import { cancellationTables } from './cancellation-cells.js';
import { withMatrix } from './cancellation-section.js';

const page = new URL('../../MIGRATION.md', import.meta.url);
writeFileSync(page, withMatrix(readFileSync(page, 'utf8'), cancellationTables(ERAS)));
