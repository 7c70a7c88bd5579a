# SPDX-License-Identifier: MIT
"""PyTorch's torchrun with its own arguments, as its console script starts it.

Debian 12's PyTorch 1.13 does not know that Python 3.11 leaves a flag of value 0
out of an enumeration, so it loses the default of --redirects and --tee.
"""

from torch.distributed.elastic.multiprocessing import api
from torch.distributed import run

parse = api.Std.from_str.__func__
api.Std.from_str = classmethod(lambda std, text: std(0) if text == "0" else parse(std, text))
run.main()
