import { SoleOwner } from './sole-owner.js';
import { describeOwnership } from './testing/ownership-contract.js';

describeOwnership('SoleOwner', () => new SoleOwner());
