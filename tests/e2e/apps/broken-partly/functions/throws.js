throw new Error('the settings of this file are missing');
