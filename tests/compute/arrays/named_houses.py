"""A frame with a column that is left out."""

import numpy as np
import pandas as pd

N = 60
Y = np.arange(N) % 2
FRAME = pd.DataFrame({"size": np.linspace(0, 1, N) + Y, "name": [f"house {n}" for n in range(N)]})
