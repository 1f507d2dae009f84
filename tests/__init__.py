"""The tests, a package of its own name: a dependency that installs one called ``tests`` must not be found first."""
