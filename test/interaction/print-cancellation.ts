import { ERAS } from '../peers/cells.js';
import { cancellationPage } from './cancellation-cells.js';

process.stdout.write(cancellationPage(ERAS));
