import { faultPage } from './fault-cells.js';

process.stdout.write(faultPage());
