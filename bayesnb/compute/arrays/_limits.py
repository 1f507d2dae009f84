"""The numbers at which the package refuses, cuts or switches, and the sizes of its blocks, each with its reason.

They are read as ``limits.MOST_CLASSES``; a comment goes on from the name. Constants of one formula, and of loops that
numba compiles, stand beside these instead.
"""

# What is refused
MOST_CLASSES = (1 << 31) - 1  # of labels, which are int32
MOST_CATEGORIES = (1 << 31) - 1  # of all columns of a block together, whose places are int32
MOST_CODES = 1 << 20  # categories of one column of an array; a column with more probably identifies rows
MOST_BARE_CODES = 1000  # categories of integers without a model; more are probably measurements or row identifiers
MOST_SAVED_COLUMNS = 1 << 24  # of the widest array that a saved estimator takes
FEWEST_BINS, MOST_BINS = 2, 256  # of a column of a Histogram
FEW_BINS, MANY_BINS = 8, 32  # of it where none are given, about sqrt(N) of N rows: more cost time, and gain nothing
MOST_FOREST_FEATURES = 256  # as a row costs K D^3 / 3 operations
FEWEST_DRAWS = 4  # of a chain, for which R-hat is defined
FEW_CLASSES = 20  # whole numbers of a target are classes if there are so few, or if each occurs so often on average
SQUARABLE = 0.45  # the largest cell is the largest float to this power: its square is finite, with room to sum squares
LARGEST_WHOLE = 2**53  # up to here float64 represents every whole number; columns with others may be read as text
LARGEST_WEIGHT = 1e30  # of a row: sums of weights, and of weighted squares, stay finite in single precision too
HYPERPARAMETER_BOUND = 1e100  # from 1 / it to it products and ratios of two hyperparameters, and squares, are finite
SINGLE_BOUND = 1e30  # likewise for positive hyperparameters in float32
SINGLE_SIZE = 1e18  # of hyperparameters in float32 that are squared, at most
MOST_CSV_ROW_BYTES = 64 << 20  # as a quote that is never closed makes one row of the rest of the file
UNCHECKED_BYTES = 64 << 20  # of memory that every machine is assumed to have; more is refused if it is not there
MOST_ERROR = 0.1  # nats, of an integral by quadrature: probabilities are a tenth off
FLAT_LIKELIHOOD = 1e-4  # slope of a row's log likelihood, in spreads of its prior, that a maximum may have

# When a user is warned
WARNED_ERROR = 1e-3  # nats, of an integral by quadrature
R_HAT, ESS = 1.01, 400  # of draws: Vehtari et al., Rank-normalization, folding, localization (2021)
FEWEST_POINTS, POINTS_PER_CLASS = 100, 10  # that count, in all and for each class: intervals from fewer are rough
LEAST_OVERCONFIDENCE = 0.01  # of the largest probability above the accuracy, on average; and two standard errors
STRONG_DEPENDENCE = 5.0  # the log Bayes factor above which a pair counts as dependent: 150 to 1

# What likelihood a column gets
FEW_VALUES = 10  # of whole numbers are categories; text with at most so many does not identify rows
CELLS_A_VALUE = 3  # on average, or numbers are no categories
ID_SHARE = 0.9  # of the rows: text with more distinct values is taken for an identifier of rows
MOST_VALUES = 1 << 20  # distinct ones that are kept of a column that is not chosen to be categorical: some 100 MB
MOST_NUMBERS = 1000  # distinct ones that are kept where they matter only to tell whether they are few
FIRST_CELLS = 1 << 14  # of a block, looked at first: most measurements have so many values there that they are not few

# What a fit cuts
VARIANCE_FLOOR = 1e-9  # of the MLE, relative to the column's pooled variance
LARGEST_FACTOR = 1e4  # of a learned prior on a hyperparameter, up or down
LONGEST_MEMORY = 1e6  # rows, of a forgetting that is told apart from none
MOST_SEGMENTS = 8  # of a column of a Histogram in a forest
EDGE_ROWS = 10_000  # of a stream, in which the edges of bins are found
LEARNED_RATIOS = 1 << 22  # N (K - 1) F of N rows, from which F powers are learned in a second; from more, a part
ROWS_A_POWER = 250  # of a part: F powers learned on n rows cost about F / (2 n) nats a new row, so .002
FEWEST_LEARNED, FEWEST_OF_CLASS = 1000, 50  # rows of a part, and of each of its classes; rarer ones have all theirs
FEW_ROWS = 100  # and their weight, up to which dependence must convince folds too; 200 rows do as well without
LEARNED_BYTES = 1 << 29  # of a part's log ratios in float32, which are copied once
MOST_PRODUCTS = 10_000_000_000  # n (K - 1) F^2 of powers that are not shared: 10 s; K D^2 (n + 10 D) of covariances
MOST_PAIRS = 20_000_000  # K S^2, for S categories and segments of all columns, of which the default counts pairs
MOST_PAIR_RATIOS = 1_000_000_000  # n D^2, for n rows without themselves: some seconds
KEPT_ROWS = 10_000  # of batches: all up to so many, in which bins are found, and then so many of each class
FETCHED_ROWS = 50_000  # from an engine, as many of each class: powers of so many lose .0001 nats a row to those of all
QUANTILE_ROWS = 1 << 17  # of more every second, third, ... one is looked at: a quantile is then right to .003
SIZED_ROWS = 1024  # spread over X, by which the size of a table of categories is estimated
SHIFT_ROWS = 10_000  # up to which the interval of class proportions is the posterior's; then an approximation is faster
SHIFT_POINTS, MOST_SHIFT_POINTS = 1024, 8192  # behind a quantile of class proportions; the first is a power of two
MOST_SHIFT_LOGS = 1 << 24  # of rows at these points, where there are many classes
QUASI_RANDOM_CLASSES = 10  # up to which quasi-random points are better than random ones

# When another method is used
SAFE_CELL = 1e15  # up to which numbers are within the limits of every dtype, and are not looked at again
PRECISE_CELL = 1e-5  # nats that float32, or a product, may lose to cancellation in a cell
PRECISE_ROW = 1e-3  # nats that float32 may lose to rounding in a row before numpy rows are recomputed in float64
ROWS_A_PATTERN = 16  # of missing cells, on average; if fewer share one, each row gets its own factors
MOST_IN_PYTHON = 256  # numbers, at about a microsecond each, until something loads numba
ROWS_IN_PYTHON = 4  # compared with every edge of bins, so that a new process answers without loading numba
# numbers, those on the way included; beyond, compilation pays: from a cold start a fit, its evidence and a prediction
# of some columns take .1 s by numpy, and compiled they took 2 s; of so many numbers numpy takes .1 s
MOST_IN_NUMPY = 1 << 24
FINE_ROWS, PADDING = 512, 32  # up to so many rows, which numpy mostly evaluates, blocks are padded to multiples of 32
ROWS_ONE_BY_ONE = 16  # of a frame that are encoded so
CODE_TABLE = 1 << 10  # the longest span of whole numbers whose codes stand in a table
ENTRIES_A_CELL = 8  # of a table of counts cost as much as evaluating one cell
COUNT_TABLE_BYTES = 1 << 27  # of such a table, at most

# Blocks of work, in bytes
BLOCK_BYTES = 8 << 20  # of X, so that X, its copies and the sums stay in the processor's cache
IN_CACHE = 1 << 20  # of tables and copies that are read again; sizes from 512 KiB to 4 MiB took the same time
WIDENED_ROWS = 256  # the least that are converted for a product: the coefficients are read again for every such block
SPARSE_BLOCK_BYTES = 1 << 22  # of sparse rows, to balance threads; the tables that they look up never fit in cache
LEFT_OUT_BYTES = 1 << 24  # of log ratios of rows left out: numpy's hundreds of operations cost more than missed cache
AT_ONCE_BYTES = 1 << 26  # of results in memory: those of rows under every draw, and of the fits of folds
REMEMBERED_BYTES = 20 << 20  # of sums over segmentations that are kept; those of 1,000 columns of 32 bins take 17
DRAWS_AT_ONCE, DRAWS_BYTES = 1024, 1 << 28  # of parameters from a posterior, at most

# Files
CSV_BLOCK_BYTES = 16 << 20  # parsed at a time; the distinct texts of a column cost time once a block
CSV_HEAD_BYTES = 1 << 16  # read first to find the header
BATCH_BYTES = 32 << 20  # of Parquet, if all cells are float64: each column of a batch costs about a millisecond
BUFFER_BYTES = 64 << 10  # of each column of Parquet; all columns have a buffer at the same time
COUNTED_CLASSES = 32  # of a table that is counted while it is described: its values are counted for each of them
KEPT_BYTES = 512 << 20  # of a file's batches, which is then read once
LARGE_FILE_BYTES = 20_000_000  # of a file that takes more than a second to read, which is announced
LOG_SECONDS = 10.0  # between messages on the progress of long work

# How a program is recognised
PROBE_ROWS = 64  # the most example rows with which it is probed, if it takes its rows from its arguments
PROBE_POINTS = 24  # random ones of the latents; more if a prior has more hyperparameters
PROBE_CLASSES = 4096  # the most labels that are tried
FEW_PROBE_CLASSES = 32  # beyond the example's, before labels are suspected of being read as numbers
FAR_LABEL = 1024  # beyond all classes

# A comparison
TEST_SHARE = 0.3  # of the rows
MOST_SCORED = 2000  # test rows of each split, whose losses are kept row by row; `compare` may ask for more
POOL_SHARE = 0.5  # of the rows to draw training sets from; of larger sets the crossed interval is too short
SPLIT_ROWS, MOST_SPLITS = 1_000_000, 20  # of all splits together, and splits, if no number of splits is given
SPACED_SIZES = 10_000  # training rows, from which on only powers of ten are sizes, if none are given
CHECK_ROWS = 500  # for testing, that NUTS is compared on
CHECK_SAMPLES = 500  # draws a chain, and warm-up steps: enough for a check, and most of the time is compilation
FITS_PER_PARAMETER = 4  # of a comparison, or NUTS is left out: it then takes at most about a third of the whole time
PAIRED_ROWS = 2000  # enough to separate strong pairs from weak ones, in a fraction of a second
PAUSE = 30.0  # seconds between the lines on cells that run, where there is no terminal

# What is shown
SHOWN_TEXTS = 1000  # of a column, among which a unit is looked for
MOST_SHOWN = 20  # features of an explanation, and columns of a file, by the command line
MOST_LISTED = 12  # columns of the data of a comparison
MOST_STRONGEST, MOST_WEAKEST = 10, 3  # columns by their dependence on the class
MOST_DRAWN = 40  # columns in the picture of dependence
TARGET_LENGTH, COLUMN_LENGTH, NAME_LENGTH = 17, 24, 32  # letters, in a plate diagram, that picture, and all others
MOST_BARS = 60  # values times classes; more are drawn as lines
MOST_LEVEL_NAMES = 12  # of features, which find room around a circle on level lines; those of more point away from it
MOST_LEGEND = 4  # classes; regions of more are labelled with names, and the legend is outside the axes
MOST_COUNTS = 12  # distinct ones that a nomogram shows one by one
MOST_LOG_ODDS = 7.0  # of a nomogram's sum
NOMOGRAM_SHARE = 0.98  # of the rows, which the axis of a measurement covers: outliers would compress all other values
