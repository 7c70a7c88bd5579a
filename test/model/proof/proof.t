#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: soak  load: cpu  limit: 3600
# Known bits and ranges of the verifier at 64 bits, proven by z3 from their C
# source: what ends within seconds here, the rest by make check-soak.
if ! /usr/bin/python3 -c 'import z3, pycparser' 2>/dev/null; then
	echo "1..0 # SKIP domains at 64 bits: python3-z3 or python3-pycparser is missing"
	exit 0
fi
export PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 "$TOP/test/model/proof/domains.py" "$TOP" ${PROOFS:-quick}
