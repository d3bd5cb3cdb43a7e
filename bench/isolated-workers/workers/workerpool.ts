import workerpool from 'workerpool';

workerpool.worker({ echo: (value: unknown) => value });
