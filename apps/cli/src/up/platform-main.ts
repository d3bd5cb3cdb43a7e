import { controlPlaneProcess } from '@drover/control-plane';
import { runProcess } from '@drover/service-kit';

// On one machine gateway, control plane and scale controller share this process; so far there is the control plane.
await runProcess({ ...controlPlaneProcess, name: 'platform' });
