import workerpool from 'workerpool';
import { exit, exitOnce } from './exits.js';

workerpool.worker({ echo: (value: unknown) => value, exit, exitOnce });
