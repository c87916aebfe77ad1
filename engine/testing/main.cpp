// One test program for every target. Test data is found through LAPIDARY_ROOT (default: the working directory).
#include <gtest/gtest.h>

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
