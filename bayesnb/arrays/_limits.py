"""The numbers at which the package refuses, cuts or switches, and the sizes of its blocks, each with its reason.

They are read as ``limits.MOST_CLASSES``. Constants of one formula stand beside it, and so do those of numba's loops.
"""

# What is refused
MOST_CLASSES = (1 << 31) - 1  # classes of labels: int32
MOST_CATEGORIES = (1 << 31) - 1  # of all columns of a block together, whose places are int32
MOST_CODES = 1 << 20  # categories of one column of an array; a column with more probably identifies rows
MOST_BARE_CODES = 1000  # categories of an integer column without a model, in `dependence`; more are measurements or ids
MOST_SAVED_COLUMNS = 1 << 24  # of the widest array of a file
FEWEST_BINS, MOST_BINS = 2, 256  # of a column of a Histogram
MOST_FOREST_FEATURES = 256  # a row costs K D^3 / 3 operations
FEWEST_DRAWS = 4  # of a chain: fewer have no R-hat
SQUARABLE = 0.45  # the largest cell is the largest float to this power: its square is finite, with room to sum squares
LARGEST_WHOLE = 2**53  # float64 represents every whole number up to this one; others may be read as text
LARGEST_WEIGHT = 1e30  # of a row: sums of weights, and of weighted squares, stay finite in single precision too
HYPERPARAMETER_BOUND = 1e100  # they lie between 1 / it and it: products and ratios of two, and squares, are finite
SINGLE_BOUND = 1e30  # the same for positive hyperparameters in float32
SINGLE_SIZE = 1e18  # the largest size of hyperparameters in float32 that are squared
MOST_CSV_ROW_BYTES = 64 << 20  # a quote that is never closed makes one row of the rest of the file
UNCHECKED_BYTES = 64 << 20  # of memory, which every machine is assumed to have

# What a warning is given for
R_HAT, ESS = 1.01, 400  # of draws: Vehtari et al., Rank-normalization, folding, localization (2021)
FEWEST_POINTS, POINTS_PER_CLASS = 100, 10  # effective numbers of points below which class proportions are rough
LEAST_OVERCONFIDENCE = 0.01  # by which the largest probability is on average above the accuracy, and two errors too
STRONG_DEPENDENCE = 5.0  # the log Bayes factor above which a pair counts as dependent: 150 to 1

# What likelihood a column gets
FEW_VALUES = 10  # whole numbers with at most this many are categories; columns with at most so many identify no rows
OFTEN = 3  # numbers are categories if their values occur so often on average
ID_SHARE = 0.9  # text with more distinct values than this fraction of its rows is taken for an identifier of rows
MOST_VALUES = 100_000  # distinct ones kept of a column; text with more of them is taken for an identifier of rows
MOST_NUMBERS = 1000  # distinct ones kept of a column where they matter only to tell whether they are few
FIRST_CELLS = 1 << 14  # of a block, looked at first: most measurements have so many values there that they are not few

# What a fit cuts
VARIANCE_FLOOR = 1e-9  # of the MLE, relative to the column's pooled variance
LARGEST_FACTOR = 1e4  # of a learned prior, up or down, on a hyperparameter
LONGEST_MEMORY = 1e6  # in rows: a forgetting that is told apart from none
MOST_SEGMENTS = 8  # of a column of a Histogram in a forest
EDGE_ROWS = 10_000  # of a stream, in which the edges of bins are found
QUANTILE_ROWS = 1 << 17  # of more, every second, third, ... one is looked at: a quantile is then right to .003
SIZED_ROWS = 1024  # spread over X, by which the size of a table of categories is estimated
SHIFT_ROWS = 10_000  # up to these the interval of class proportions is the posterior's; an approximation is faster
SHIFT_POINTS, MOST_SHIFT_POINTS = 1024, 8192  # behind a quantile of class proportions; the first is a power of two
MOST_SHIFT_LOGS = 1 << 24  # of rows at points, where there are more than a few classes
QUASI_RANDOM_CLASSES = 10  # up to so many, quasi-random points are better than random ones
BURN_IN = 200  # states of the chain of class proportions that are dropped before the first draw

# When another method is used
SAFE_CELL = 1e15  # numbers up to this are within the limits of every dtype, and are checked no further
PRECISE_CELL = 1e-5  # nats a cell that float32, or a product, may lose to cancellation
PRECISE_ROW = 1e-3  # nats a row that float32 may lose to rounding before numpy rows are recomputed in float64
ROWS_A_PATTERN = 16  # if fewer share a pattern of missing cells, on average, each row gets its own factors
MOST_IN_PYTHON = 256  # numbers that are left to Python, at about a microsecond each, until something loads numba
ROWS_IN_PYTHON = 4  # compared with every edge of bins, so that a new process answers without loading numba
# numbers that numpy computes, with those on the way; beyond, compilation pays: from a cold start a fit, its evidence
# and a prediction of some columns take .1 s by numpy, and compiled they took 2 s
MOST_IN_NUMPY = 1 << 22
FINE_ROWS, FINE = 512, 32  # up to these, which numpy mostly evaluates, blocks are padded to multiples of the second
MOST_DENSE_CELLS = 1 << 24  # of a table of classes: up to 128 MiB it is dense
CELL_BYTES = 16  # of a cell of its own in a sparse one: a number and its place
DENSITY = 8  # one cell in so many is its own in a larger one that is dense: sparse, they take a quarter at least
FEW_ROWS = 16  # of a frame that are encoded one by one
CODE_TABLE = 1 << 10  # the longest span of whole numbers whose codes stand in a table
MOST_TABULATED = 3  # the largest count whose logarithms are tabulated for a sparse table, one for each cell and count
ENTRIES_A_CELL = 8  # entries of a table of counts that cost as much as evaluating one cell
COUNT_TABLE_BYTES = 1 << 27  # of the largest of those tables

# Bytes of a block of work
BLOCK_BYTES = 8 << 20  # of X, so that X, its copies and the sums stay in the processor's cache
SPARSE_BLOCK_BYTES = 1 << 22  # of sparse rows, to balance threads; the tables that they look up never fit in cache
IN_CACHE = 1 << 20  # of a table that is computed by rows, which stays in cache together with a copy
SMALL_BLOCK_BYTES = 1 << 19  # of numbers that are converted, looked up or whose logs are taken: the results stay, too
SMALL_BLOCK_ROWS = 256  # the least of those that are multiplied: the coefficients are read again for every block
IN_ORDER_BYTES = 1 << 21  # of the numbers of one kind of rows in their order
SEGMENTATION_BYTES = 1 << 22  # of sums over segmentations, with temporaries of some times the size for each thread
LEFT_OUT_BYTES = 1 << 24  # of log ratios of rows left out: numpy's hundreds of operations cost more than missed cache
AT_ONCE_BYTES = 1 << 26  # of results in memory at once: of rows under every draw, and of the fits of folds

# Files
CSV_BLOCK_BYTES = 16 << 20  # parsed at a time; the distinct texts of a column cost time once a block
CSV_HEAD_BYTES = 1 << 16  # read first to find the header
BATCH_BYTES = 8 << 20  # of one batch of Parquet, if all cells are float64
TABLE_BATCH_BYTES = 32 << 20  # the same where a table is described: each column of a batch costs about a millisecond
BUFFER_BYTES = 64 << 10  # of each column; all columns have a buffer at the same time
KEPT_BYTES = 512 << 20  # a file whose batches take at most so much memory is read once
LARGE_FILE_BYTES = 20_000_000  # of a file that takes more than a second to read: it is announced
CHECKPOINT_SECONDS = 5.0  # between writes, at least
CHECKPOINT_SHARE = 0.02  # of the time spent on writing, at most
MOST_REMEMBERED = 1 << 16  # texts whose answers are kept, as the batches of a file have mostly the same texts

# Recognition of programs
PROBE_ROWS = 64  # the most example rows with which a program that takes its rows from its arguments is probed
PROBE_POINTS = 24  # random points of the latents; more if a prior has more hyperparameters
PROBE_CLASSES = 4096  # the most labels that are tried
FEW_PROBE_CLASSES = 32  # beyond the example's; then labels that are read as a number are looked for
FAR_LABEL = 1024  # beyond all classes

# A comparison
TEST_SHARE, MOST_TEST_ROWS = 0.3, 20_000  # of the rows; those that are scored in each split unless more are asked for
SPLIT_ROWS = 1_000_000  # of all splits together, if no number of splits is given
TRIAL_ROWS = 5000  # the most training rows of the fits that are timed before the comparison begins
FEWEST_TIMES = 3  # the median of these leaves out the first, which may include compilation
CHECK_ROWS = 500  # test rows of the check with NUTS
CHECK_SAMPLES = 500  # its draws a chain, and warm-up steps: enough for a check, and most of the time is compilation
FITS_PER_PARAMETER = 4  # if a comparison has as many, the check takes at most about a third of the whole time
PAIRED_ROWS = 2000  # enough to separate strong pairs from weak ones, in a fraction of a second
PAUSE = 5.0  # seconds between the lines in a log, and the shortest time that is worth a forecast
SHORT_PAUSE = 1.0  # seconds after a line before a fit that compiles is announced

# What is shown
MOST_SHOWN = 20  # features of an explanation, and columns of a file, by the command line
MOST_LISTED = 12  # columns of the data of a comparison
STRONGEST, WEAKEST = 10, 3  # columns by their dependence on the class, if there are more
MOST_DRAWN = 40  # columns of the picture of dependence
TARGET_LENGTH, COLUMN_LENGTH, NAME_LENGTH = 17, 24, 32  # letters: in a plate diagram, at that picture, in any other
MOST_BARS = 60  # values times classes; more are drawn as lines
MOST_LEVEL_NAMES = 12  # features that find room around a circle on level lines; names of more point away from it
MOST_LEGEND = 4  # classes; regions of more are labelled with names, and the legend is outside the axes
MOST_COUNTS = 12  # distinct ones shown one by one in a nomogram
MOST_LOG_ODDS = 7.0  # on the axis of a nomogram's sum
MIDDLE = 0.98  # of the rows, covered by the axis of a measurement: outliers would compress all other values
